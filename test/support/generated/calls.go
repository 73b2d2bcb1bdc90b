// Ten calls by the client that openapi-generator makes for Go.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"parley"
)

func check(isRight bool, err error) {
	if err != nil {
		log.Fatal(err)
	}
	if !isRight {
		log.Panic("This answer is not as expected.")
	}
}

func main() {
	configuration := parley.NewConfiguration()
	configuration.Servers[0].URL = os.Getenv("PARLEY_URL")
	client := parley.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), parley.ContextAccessToken, os.Getenv("PARLEY_TOKEN"))

	request := parley.NewCreateContactRequest("ada")
	request.SetPhoneNumber("+15550100")
	ada, _, err := client.ContactsApi.CreateContact(ctx).CreateContactRequest(*request).Execute()
	check(ada.Username == "ada", err)
	found, _, err := client.ContactsApi.RetrieveContact(ctx, ada.Id).Execute()
	check(found.Id == ada.Id, err)
	change := parley.NewUpdateContactRequest()
	change.SetDisplayName("Ada")
	named, _, err := client.ContactsApi.UpdateContact(ctx, ada.Id).UpdateContactRequest(*change).Execute()
	check(*named.DisplayName.Get() == "Ada" && named.AvatarUrl.Get() == nil, err)
	page, _, err := client.ContactsApi.ListContacts(ctx).Limit(10).Execute()
	check(len(page.Data) == 1 && !page.HasMore, err)
	me, _, err := client.MeApi.RetrieveMe(ctx).Execute()
	check(me.Id != "", err)
	message := parley.NewCreateMessageRequest(me.ConversationId)
	message.SetText("Hello")
	sent, _, err := client.MessagesApi.CreateMessage(ctx).CreateMessageRequest(*message).Execute()
	check(*sent.Text.Get() == "Hello", err)
	inbox, _, err := client.ConversationsApi.ListConversations(ctx).Execute()
	check(*inbox.Data[0].LastMessage.Get().Text.Get() == "Hello", err)
	events, _, err := client.EventsApi.ListEvents(ctx).Limit(100).Execute()
	check(events.Data[len(events.Data)-1].Payload["id"] != nil, err)
	_, err = client.ContactsApi.DeleteContact(ctx, ada.Id).Execute()
	check(true, err)
	_, gone, err := client.ContactsApi.RetrieveContact(ctx, ada.Id).Execute()
	check(gone.StatusCode == 404 && err != nil, nil)
	fmt.Println("10 calls")
}
