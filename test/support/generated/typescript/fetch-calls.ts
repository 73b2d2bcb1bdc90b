// Ten calls by openapi-fetch with the types that openapi-typescript makes.
import createClient from "openapi-fetch";
import type { components, paths } from "./types";

declare const process: { env: { PARLEY_URL: string; PARLEY_TOKEN: string } };

function check(isRight: boolean): void {
  if (!isRight) throw new Error("This answer is not as expected.");
}

async function main(): Promise<void> {
  const { PARLEY_URL: baseUrl, PARLEY_TOKEN: token } = process.env;
  const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } });
  const fields = { username: "ada", phone_number: "+15550100" };
  const ada = (await client.POST("/v1/contacts", { body: fields })).data!;
  const params = { path: { contact_id: ada.id } };
  check((await client.GET("/v1/contacts/{contact_id}", { params })).data?.username === "ada");
  const named = await client.PUT("/v1/contacts/{contact_id}", { params, body: { display_name: "Ada" } });
  check(named.data?.display_name === "Ada" && named.data.avatar_url === null);
  const page = await client.GET("/v1/contacts", { params: { query: { limit: 10 } } });
  check(page.data?.data.length === 1 && !page.data.has_more);
  const me = (await client.GET("/v1/me")).data!;
  const message = { conversation_id: me.conversation_id, text: "Hello" };
  const sent = (await client.POST("/v1/messages", { body: message })).data!;
  check(sent.sender?.id === me.id);
  const inbox = await client.GET("/v1/conversations");
  check(inbox.data?.data[0]?.last_message?.text === "Hello");
  const answer = await client.GET("/v1/events", { params: { query: { limit: 100 } } });
  const events = answer.data as components["schemas"]["EventPage"];
  check(events.data.some(({ payload }) => payload !== null && "id" in payload && payload.id === sent.id));
  check((await client.DELETE("/v1/contacts/{contact_id}", { params })).response.status === 204);
  const gone = await client.GET("/v1/contacts/{contact_id}", { params });
  check(gone.error?.code === "contact_not_found");
  console.log("10 calls");
}

main();
