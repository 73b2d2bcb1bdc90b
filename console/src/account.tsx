// The corner with the signed-in user, their storage, and whether the server answers.
import { useState } from "preact/hooks";
import { ConfirmDialog } from "./dialog.tsx";
import { counted, formatSize } from "./format.ts";
import { Icon, IconButton } from "./icons.tsx";
import { visible } from "./people.tsx";
import { useSession } from "./session.ts";

export function Account() {
  const { me, isAway, uploads, outbox, notifier, pusher, signOut } = useSession();
  const [asking, setAsking] = useState(false);
  const { used, quota } = me.storage;
  const text = quota === null ? `${formatSize(used)} stored` : `${formatSize(used)} of ${formatSize(quota)}`;
  return (
    <footer class="account">
      <span class="account-text">
        <span class="ellipsis">{visible(me.display_name) || me.username}</span>
        <span class="muted small">{text}</span>
        {quota !== null && <meter max={quota} high={quota * 0.9} value={used} aria-label="Storage used" />}
        <span class="away small" role="status">
          {isAway && "Not connected, trying again"}
        </span>
      </span>
      {notifier.isPossible && <NotifySwitch />}
      {pusher.isPossible && <PushSwitch />}
      <IconButton
        icon="signOut"
        label="Sign out"
        onClick={() => (uploads.running > 0 || outbox.all.length > 0 ? setAsking(true) : signOut())}
      />
      {asking && (
        <ConfirmDialog
          title={uploads.running > 0 ? "Sign out and stop uploads?" : "Sign out and discard messages?"}
          text={toUnsent(uploads.running, outbox.all.length)}
          action="Sign out"
          onConfirm={async () => signOut()}
          onClose={() => setAsking(false)}
        />
      )}
    </footer>
  );
}

/** Turns notifications of this browser on and off. */
function NotifySwitch() {
  const { notifier, say, report } = useSession();
  const [isOn, setOn] = useState(notifier.isOn);
  const toggle = async () => {
    try {
      if (isOn) notifier.turnOff();
      else await notifier.turnOn();
      say(isOn ? "You get no more notifications here." : "You get notifications while Parley is open here.");
    } catch (error) {
      report("Notifications stay off.", error);
    }
    setOn(notifier.isOn);
  };
  return (
    <button
      type="button"
      class="icon-button"
      aria-label="Notifications"
      title={isOn ? "Notifications are on" : "Notifications are off"}
      aria-pressed={isOn}
      onClick={toggle}
    >
      <Icon name={isOn ? "bell" : "muted"} />
    </button>
  );
}

/** Turns notifications while no window is open on and off. */
function PushSwitch() {
  const { pusher, say, report } = useSession();
  const [isOn, setOn] = useState(pusher.isOn);
  const [asking, setAsking] = useState(false);
  const toggle = async () => {
    try {
      if (isOn) await pusher.turnOff();
      else await pusher.turnOn();
      say(`Notifications while Parley is closed are ${isOn ? "off" : "on"}.`);
    } catch (error) {
      report(`Notifications while Parley is closed ${isOn ? "were not turned off" : "stay off"}.`, error);
    }
    setOn(pusher.isOn);
  };
  return (
    <>
      <button
        type="button"
        class="icon-button"
        aria-label="Push notifications"
        title={`Notifications while Parley is closed are ${isOn ? "on" : "off"}`}
        aria-pressed={isOn}
        onClick={() => (isOn ? toggle() : setAsking(true))}
      >
        <Icon name="device" />
      </button>
      {asking && (
        <ConfirmDialog
          title="Get notifications while Parley is closed?"
          text="Your browser then talks to its own push service, which learns when a message arrives for you, but neither from whom nor what it says."
          action="Turn on"
          isHarmless
          onConfirm={toggle}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  );
}

/** Says what a sign-out would stop. */
function toUnsent(files: number, messages: number): string {
  const parts = [
    files > 0 && `${counted(files, "file is", "files are")} still uploading.`,
    messages > 0 && `${counted(messages, "message is", "messages are")} not sent.`,
  ];
  return parts.filter(Boolean).join(" ");
}
