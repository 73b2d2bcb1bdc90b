// Ten calls by the client that @hey-api/openapi-ts makes.
import * as parley from "./sdk";
import { client } from "./sdk/client.gen";

declare const process: { env: { PARLEY_URL: string; PARLEY_TOKEN: string } };

function check(isRight: boolean): void {
  if (!isRight) throw new Error("This answer is not as expected.");
}

async function main(): Promise<void> {
  const { PARLEY_URL: baseUrl, PARLEY_TOKEN: token } = process.env;
  client.setConfig({ baseUrl, auth: token });
  const fields = { username: "ada", phone_number: "+15550100" };
  const ada = (await parley.createContact({ body: fields })).data!;
  const path = { contact_id: ada.id };
  check((await parley.retrieveContact({ path })).data?.username === "ada");
  const named = await parley.updateContact({ path, body: { display_name: "Ada" } });
  check(named.data?.display_name === "Ada" && named.data.avatar_url === null);
  const page = await parley.listContacts({ query: { limit: 10 } });
  check(page.data?.data.length === 1 && !page.data.has_more);
  const me = (await parley.retrieveMe()).data!;
  const message = { conversation_id: me.conversation_id, text: "Hello" };
  const sent = (await parley.createMessage({ body: message })).data!;
  check(sent.sender?.id === me.id);
  const inbox = await parley.listConversations();
  check(inbox.data?.data[0]?.last_message?.text === "Hello");
  const events = (await parley.listEvents({ query: { limit: 100 } })).data as parley.EventPage;
  check(events.data.some(({ payload }) => payload !== null && "id" in payload && payload.id === sent.id));
  check((await parley.deleteContact({ path })).response?.status === 204);
  check((await parley.retrieveContact({ path })).error?.code === "contact_not_found");
  console.log("10 calls");
}

main();
