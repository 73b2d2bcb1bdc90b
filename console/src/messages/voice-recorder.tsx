// Records a voice message in place of the composer's field. Enter sends it, Escape cancels.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { focusIfLost } from "../files/open-file.tsx";
import { pauseMedia } from "../files/player.tsx";
import { useSession } from "../session/session.ts";
import { counted, formatDuration } from "../ui/format.ts";
import { Icon, IconButton } from "../ui/icons.tsx";
import { isTouched } from "../ui/use-media.ts";
import { explainMicrophone, findFormat, Recording } from "./voice.ts";

/** A longer recording ends, and waits to be sent. */
const MAX_MINUTES = 15;
/** The microphone takes the place of Send, where a second tap must not start a recording. */
const IGNORED_MS = 500;

/** `field`: gets the focus after a recording. */
export function useVoice(field: { current: HTMLElement | null }) {
  const { can } = useSession();
  const [isOn, setOn] = useState(false);
  const [failure, setFailure] = useState("");
  const sentAt = useRef(Number.NEGATIVE_INFINITY);
  const sent = () => {
    sentAt.current = performance.now();
  };
  return {
    isPossible: can("attachments:write") && findFormat() !== undefined,
    isOn,
    failure,
    /** Call it when Send was pressed. */
    sent,
    begin: () => {
      if (performance.now() - sentAt.current < IGNORED_MS) return;
      setFailure("");
      setOn(true);
    },
    /** `failure`: why nothing was recorded. */
    end: (failure = "") => {
      setFailure(failure);
      setOn(false);
      // On touch screens that would open the keyboard.
      if (!isTouched()) focusIfLost(() => field.current);
    },
  };
}

export function VoiceRecorder(props: {
  onSend: (file: File) => void;
  /** Gets a recording that was neither sent nor cancelled before the conversation closed. */
  onLeft: (file: File) => void;
  onEnd: (failure?: string) => void;
}) {
  const { onSend, onEnd } = props;
  const box = useRef<HTMLDivElement>(null);
  /** Whether it was sent or cancelled. */
  const isDone = useRef(false);
  const { recording, isOver } = useRecording(onEnd, async (recording) => {
    if (isDone.current) return recording.release();
    const file = await recording.stop();
    if (file.size > 0) props.onLeft(file);
  });
  const cancel = () => {
    isDone.current = true;
    onEnd();
  };
  useLayoutEffect(() => box.current!.focus(), []);
  const send = async () => {
    if (!recording || isDone.current) return;
    isDone.current = true;
    const file = await recording.stop();
    if (file.size > 0) onSend(file);
    onEnd();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const isOnButton = event.target !== event.currentTarget;
    if (event.key === "Escape") cancel();
    else if (event.key === "Enter" && !isOnButton && !event.repeat) void send();
    else return;
    event.preventDefault();
  };
  return (
    <div
      ref={box}
      class="composer-row voice"
      role="group"
      aria-label="Voice message: Enter sends it, Escape cancels"
      tabIndex={-1}
      onKeyDown={onKeyDown}
    >
      <IconButton icon="close" label="Cancel the recording" onClick={cancel} />
      <span class="small" role="status">
        {toStatus(recording, isOver)}
      </span>
      {recording && <TimeAndLevel recording={recording} isOver={isOver} />}
      <button
        type="button"
        class="icon-button send"
        disabled={!recording}
        aria-label="Send"
        title="Send"
        onClick={send}
      >
        <Icon name="send" />
      </button>
    </div>
  );
}

function toStatus(recording: Recording | undefined, isOver: boolean): string {
  if (!recording) return "Waiting for the microphone…";
  if (!isOver) return "Recording";
  const isLong = recording.seconds >= MAX_MINUTES * 60;
  return isLong ? `Ended after ${counted(MAX_MINUTES, "minute", "minutes")}` : "Ended";
}

function TimeAndLevel({ recording, isOver }: { recording: Recording; isOver: boolean }) {
  const [seconds, setSeconds] = useState(0);
  const level = useRef<HTMLSpanElement>(null);
  // A passive effect would draw once more after the end.
  useLayoutEffect(() => {
    if (isOver) return;
    let frame = 0;
    const draw = () => {
      setSeconds(Math.floor(recording.seconds));
      level.current!.style.scale = `${recording.level} 1`;
      frame = requestAnimationFrame(draw);
    };
    draw();
    return () => cancelAnimationFrame(frame);
  }, [recording, isOver]);
  return (
    <>
      <span class="voice-level" aria-hidden="true">
        <span ref={level} />
      </span>
      <span class="voice-time small" role="timer">
        {formatDuration(seconds)}
      </span>
    </>
  );
}

/** Records from the first render on. Calls `onLeave`, which ends the recording, when the component leaves for any reason. */
function useRecording(onFailure: (failure: string) => void, onLeave: (recording: Recording) => void) {
  const [recording, setRecording] = useState<Recording>();
  const [isOver, setOver] = useState(false);
  useLayoutEffect(() => {
    let isLeft = false;
    let begun: Recording | undefined;
    let limit: ReturnType<typeof setTimeout>;
    const begin = async () => {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      try {
        begun = new Recording(stream, findFormat()!, () => setOver(true));
      } catch (error) {
        for (const track of stream.getTracks()) track.stop();
        throw error;
      }
      if (isLeft) return begun.release();
      pauseMedia();
      setRecording(begun);
      limit = setTimeout(() => begun!.stop(), MAX_MINUTES * 60_000);
    };
    begin().catch((error) => isLeft || onFailure(explainMicrophone(error)));
    const guard = (event: Event) => event.preventDefault();
    addEventListener("beforeunload", guard);
    return () => {
      isLeft = true;
      clearTimeout(limit);
      removeEventListener("beforeunload", guard);
      if (begun) onLeave(begun);
    };
  }, []);
  return { recording, isOver };
}
