import { useConnection, useInbox, useMessages, useSend, useSync, useTyping, useUnread } from "parley-react";
import type { SyncMessage } from "parley-sync";
import { useEffect, useState } from "react";
import { FlatList, Pressable, StyleSheet, Text, TextInput, View } from "react-native";

export function App() {
  const [openId, setOpenId] = useState<string>();
  const { items } = useInbox();
  const unread = useUnread();
  const { state } = useConnection();
  if (openId) return <Conversation id={openId} onBack={() => setOpenId(undefined)} />;
  return (
    <View style={styles.page}>
      <Text role="heading" style={styles.title}>{`Inbox (${unread})`}</Text>
      <FlatList
        data={items}
        keyExtractor={({ id }) => id}
        renderItem={({ item: { id, name, unread_count } }) => (
          <Button label={`${name ?? "Notes"} (${unread_count})`} onPress={() => setOpenId(id)} />
        )}
      />
      <Text role="status" style={styles.text}>
        {state}
      </Text>
    </View>
  );
}

function Conversation({ id, onBack }: { id: string; onBack: () => void }) {
  const { messages, conversation, hasOlder, loadOlder } = useMessages(id);
  const { typists, notifyTyping } = useTyping(id);
  const send = useSend(id);
  const sync = useSync();
  const [text, setText] = useState("");
  const unreadId = conversation?.unread_count ? messages.findLast(({ state }) => state === "sent")?.id : null;
  useEffect(() => {
    if (unreadId) sync.read(id, unreadId);
  }, [sync, id, unreadId]);
  const submit = () => {
    if (text) send({ text });
    setText("");
  };
  return (
    <View style={styles.page}>
      <Button label="Back" onPress={onBack} />
      <FlatList
        inverted
        data={[...messages].reverse()}
        keyExtractor={({ key }) => key}
        renderItem={({ item }) => <Message message={item} />}
        onEndReached={() => hasOlder && loadOlder().catch(() => {})}
      />
      <Text role="status" style={styles.text}>
        {typists.length > 0 && "typing…"}
      </Text>
      <TextInput
        aria-label="Message"
        style={[styles.text, styles.input]}
        value={text}
        onChangeText={(now) => {
          setText(now);
          notifyTyping();
        }}
        onSubmitEditing={submit}
      />
      <Button label="Send" onPress={submit} />
    </View>
  );
}

function Message({ message }: { message: SyncMessage }) {
  const { id, key, conversation_id, type, sender, text, state, reason, reactions } = message;
  const sync = useSync();
  const { me } = useConnection();
  const likes = reactions.find(({ emoji }) => emoji === "👍")?.user_ids ?? [];
  const isLiked = me !== null && likes.includes(me.id);
  return (
    <View>
      <Text style={styles.text}>{`${sender?.username}: ${type === "text" ? (text ?? "a file") : type}`}</Text>
      {state === "waiting" && <Text style={styles.text}>waiting</Text>}
      {state === "failed" && (
        <Button label={`Retry: ${reason?.detail}`} onPress={() => void sync.retry(key)} />
      )}
      {state === "sent" && (
        <Button
          label={`👍 ${likes.length}`}
          onPress={() => sync.react(conversation_id, id, "👍", !isLiked)}
        />
      )}
    </View>
  );
}

function Button({ label, onPress }: { label: string; onPress: () => void }) {
  return (
    <Pressable role="button" style={styles.button} onPress={onPress}>
      <Text style={styles.text}>{label}</Text>
    </Pressable>
  );
}

const styles = StyleSheet.create({
  page: { flex: 1, padding: 16, gap: 8 },
  title: { fontSize: 24, fontWeight: "bold" },
  text: { fontSize: 16 },
  button: { alignSelf: "flex-start", paddingVertical: 8, paddingHorizontal: 12 },
  input: { borderWidth: 1, borderRadius: 8, padding: 8 },
});
