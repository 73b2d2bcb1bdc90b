import { useState } from "preact/hooks";
import type { User } from "../../../packages/parley-client/src/index.ts";
import { useSession } from "../session/session.ts";
import { ConfirmDialog } from "../ui/dialog.tsx";
import { Icon } from "../ui/icons.tsx";

/** A button that pauses or resumes the user after a question. */
export function PauseUser({ user, onChange }: { user: User; onChange: (user: User) => void }) {
  const { parley, say, report } = useSession();
  const [isAsking, setAsking] = useState(false);
  const { username } = user;
  const isPaused = user.paused_at !== null;
  const confirm = async () => {
    try {
      onChange(await parley.users.update(user.id, { paused: !isPaused }));
      say(isPaused ? `${username} was resumed.` : `${username} was paused.`);
    } catch (error) {
      report(isPaused ? `${username} was not resumed.` : `${username} was not paused.`, error);
    }
  };
  return (
    <>
      <button type="button" class="button" onClick={() => setAsking(true)}>
        <Icon name={isPaused ? "play" : "pause"} />
        {isPaused ? "Resume" : "Pause"}
      </button>
      {isAsking && (
        <ConfirmDialog
          title={isPaused ? `Resume ${username}?` : `Pause ${username}?`}
          text={
            isPaused
              ? "Their tokens work again, and they get everything that waited."
              : "Until you resume them, they can't use Parley: their tokens and sessions are refused. Nothing is lost: messages to them wait, and what they sent stays. Others don't see the pause."
          }
          action={isPaused ? "Resume" : "Pause"}
          isHarmless
          onConfirm={confirm}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  );
}
