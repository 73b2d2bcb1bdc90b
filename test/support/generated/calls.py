# Ten calls by the client that openapi-generator makes for Python.
import os

import openapi_client as parley

configuration = parley.Configuration(host=os.environ["PARLEY_URL"])
configuration.access_token = os.environ["PARLEY_TOKEN"]
with parley.ApiClient(configuration) as client:
    contacts = parley.ContactsApi(client)
    messages = parley.MessagesApi(client)
    ada = contacts.create_contact(parley.CreateContactRequest(username="ada", phone_number="+15550100"))
    assert contacts.retrieve_contact(ada.id).username == "ada"
    named = contacts.update_contact(ada.id, update_contact_request=parley.UpdateContactRequest(display_name="Ada"))
    assert named.display_name == "Ada" and named.avatar_url is None
    page = contacts.list_contacts(limit=10)
    assert [contact.id for contact in page.data] == [ada.id] and not page.has_more
    me = parley.MeApi(client).retrieve_me()
    sent = messages.create_message(parley.CreateMessageRequest(conversation_id=me.conversation_id, text="Hello"))
    assert sent.sender.id == me.id
    inbox = parley.ConversationsApi(client).list_conversations()
    found = {conversation.id: conversation.last_message for conversation in inbox.data}
    assert found[me.conversation_id].text == "Hello"
    events = parley.EventsApi(client).list_events(limit=100)
    assert sent.id in [event.payload["id"] for event in events.data]
    contacts.delete_contact(ada.id)
    try:
        contacts.retrieve_contact(ada.id)
        raise SystemExit("The contact is still there.")
    except parley.ApiException as error:
        assert error.status == 404 and "contact_not_found" in error.body
print("10 calls")
