// Ten calls by the client that openapi-generator makes for Java.
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.ContactsApi;
import org.openapitools.client.api.ConversationsApi;
import org.openapitools.client.api.EventsApi;
import org.openapitools.client.api.MeApi;
import org.openapitools.client.api.MessagesApi;
import org.openapitools.client.auth.HttpBearerAuth;
import org.openapitools.client.model.CreateContactRequest;
import org.openapitools.client.model.CreateMessageRequest;
import org.openapitools.client.model.UpdateContactRequest;

public class Calls {
  private static void check(boolean isRight) {
    if (!isRight) throw new IllegalStateException("This answer is not as expected.");
  }

  public static void main(String[] args) throws ApiException {
    var client = new ApiClient().setBasePath(System.getenv("PARLEY_URL"));
    ((HttpBearerAuth) client.getAuthentication("token")).setBearerToken(System.getenv("PARLEY_TOKEN"));
    var contacts = new ContactsApi(client);
    var create = new CreateContactRequest().username("ada").phoneNumber("+15550100");
    var id = contacts.createContact(create, null, null, null).getId();
    check(contacts.retrieveContact(id, null, null, null).getUsername().equals("ada"));
    var change = new UpdateContactRequest().displayName("Ada");
    var named = contacts.updateContact(id, null, null, null, change);
    check(named.getDisplayName().equals("Ada") && named.getAvatarUrl() == null);
    var page = contacts.listContacts(10L, null, null, null, null, null, null, null);
    check(page.getData().size() == 1 && !page.getHasMore());
    var me = new MeApi(client).retrieveMe(null, null, null);
    var message = new CreateMessageRequest().conversationId(me.getConversationId()).text("Hello");
    var sent = new MessagesApi(client).createMessage(message, null, null, null);
    check(sent.getSender().getId().equals(me.getId()));
    var inbox = new ConversationsApi(client).listConversations(null, null, null, null, null, null, null, null);
    check(inbox.getData().get(0).getLastMessage().getText().equals("Hello"));
    var events = new EventsApi(client).listEvents(100L, null, null, null, null, null);
    check(events.getData().stream().anyMatch(event -> event.getPayload().toString().contains(sent.getId())));
    contacts.deleteContact(id, null, null);
    try {
      contacts.retrieveContact(id, null, null, null);
      check(false);
    } catch (ApiException error) {
      check(error.getCode() == 404);
    }
    System.out.println("10 calls");
  }
}
