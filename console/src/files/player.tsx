// Sound and video that play in their message. Only the beginning of a file is loaded before somebody plays it, and
// nothing before it has been in view.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Attachment } from "../../../packages/parley-client/src/index.ts";
import { localAddress, useChanges } from "../session/session.ts";
import { formatDuration, formatSize } from "../ui/format.ts";
import { Icon } from "../ui/icons.tsx";
import { useRedraw } from "../ui/use-redraw.ts";

/** Larger files are not loaded to find their duration. */
const MAX_MEASURED_BYTES = 2_000_000;
/** After the end of any file. */
const FAR_SECONDS = 1e9;

interface Playing {
  file: Attachment;
  /** Opens the file in the viewer. */
  onOpen: () => void;
  /** Whether Tab reaches its buttons. */
  isReachable: boolean;
}

export function AudioPlayer(props: Playing) {
  const { file, isReachable } = props;
  const audio = useRef<HTMLAudioElement>(null);
  const { box, isBroken, source } = useSource(file, audio);
  const [isPlaying, setPlaying] = useState(false);
  const [time, setTime] = useState(0);
  const [duration, setDuration] = useState(0);
  // Its writer could not go back to the beginning to write it.
  const isMissing = duration === Number.POSITIVE_INFINITY;
  useEffect(() => {
    if (isMissing && file.file_size <= MAX_MEASURED_BYTES) return measure(audio.current!.src, setDuration);
  }, [isMissing]);
  const isKnown = Number.isFinite(duration) && duration > 0;
  const tabIndex = isReachable ? 0 : -1;
  const toggle = () => {
    const { current } = audio;
    // `onError` shows a failure.
    if (current!.paused) current!.play().catch(() => {});
    else current!.pause();
  };
  const total = isKnown ? formatDuration(duration) : "";
  const position = [...(time > 0 ? [formatDuration(time)] : []), ...(total ? [total] : [])].join(" / ");
  return (
    <div ref={box} class="message-file sound">
      <audio
        ref={audio}
        {...source}
        onPlay={() => setPlaying(true)}
        onPause={() => setPlaying(false)}
        onTimeUpdate={({ currentTarget }) => setTime(currentTarget.currentTime)}
        onDurationChange={({ currentTarget }) => setDuration(currentTarget.duration)}
        onEnded={({ currentTarget }) => {
          currentTarget.currentTime = 0;
        }}
      />
      <button
        type="button"
        class="play-button"
        aria-label={`${isPlaying ? "Pause" : "Play"} ${file.filename}`}
        disabled={isBroken}
        tabIndex={tabIndex}
        onClick={toggle}
      >
        <Icon name={isPlaying ? "pause" : "play"} />
      </button>
      <div class="sound-text">
        <OpenButton {...props} />
        {isBroken ? (
          <span class="muted small">It cannot be played.</span>
        ) : (
          <span class="sound-line">
            <input
              type="range"
              min={0}
              max={isKnown ? duration : 1}
              step="any"
              value={isKnown ? time : 0}
              disabled={!isKnown}
              tabIndex={tabIndex}
              aria-label="Position"
              aria-valuetext={position}
              onInput={({ currentTarget }) => {
                audio.current!.currentTime = currentTarget.valueAsNumber;
              }}
            />
            <span class="muted small">{position || formatSize(file.file_size)}</span>
          </span>
        )}
      </div>
    </div>
  );
}

export function VideoPlayer(props: Playing) {
  const { file, isReachable } = props;
  const video = useRef<HTMLVideoElement>(null);
  const { box, isBroken, source } = useSource(file, video);
  return (
    <div ref={box} class="message-file film">
      {isBroken ? (
        <span class="film-frame">
          <Icon name="video" />
        </span>
      ) : (
        <video
          ref={video}
          class="film-frame"
          controls
          playsInline
          tabIndex={isReachable ? 0 : -1}
          aria-label={file.filename}
          {...source}
        />
      )}
      <span class="film-text">
        <OpenButton {...props} />
        <span class="muted small">{formatSize(file.file_size)}</span>
      </span>
    </div>
  );
}

function OpenButton({ file, isReachable, onOpen }: Playing) {
  return (
    <button
      type="button"
      class="file-open file-name"
      title={file.filename}
      tabIndex={isReachable ? 0 : -1}
      onClick={onOpen}
    >
      <span class="visually-hidden">Open </span>
      {file.filename}
    </button>
  );
}

/** Returns what a media element needs to load the file, once `box` has been in view. */
function useSource(file: Attachment, media: { current: HTMLMediaElement | null }) {
  const box = useRef<HTMLDivElement>(null);
  const [isSeen, setSeen] = useState(false);
  const [isBroken, setBroken] = useState(false);
  const redraw = useRedraw();
  const latest = localAddress(file.file_url);
  const address = useRef(latest);
  // A renewed link would stop what plays, and lose its position.
  if (!media.current?.played.length) address.current = latest;
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true);
    });
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  // A new link, or a server that answers again, may fix it.
  useEffect(() => setBroken(false), [latest]);
  useChanges(({ type }) => {
    if (type !== "retry" || !isBroken) return;
    setBroken(false);
    media.current?.load();
  });
  const onError = () => {
    if (address.current === latest) return setBroken(true);
    // The link has expired meanwhile.
    address.current = latest;
    redraw();
  };
  return {
    box,
    isBroken,
    source: { ...(isSeen && { src: address.current }), preload: "metadata", onError } as const,
  };
}

/**
 * Has the browser find the duration of a file that does not contain it, by seeking to its end. Not in the element that
 * plays, which would break on files without an index, such as WebM of Firefox. Returns a function that ends this.
 */
function measure(address: string, onFound: (duration: number) => void): () => void {
  const media = new Audio(address);
  media.onloadedmetadata = () => {
    media.currentTime = FAR_SECONDS;
  };
  media.ondurationchange = () => Number.isFinite(media.duration) && onFound(media.duration);
  return () => {
    media.ondurationchange = null;
    media.removeAttribute("src");
    media.load();
  };
}

/** Pauses what plays, in messages and in the viewer. */
export function pauseMedia(except?: EventTarget | null): void {
  for (const each of document.querySelectorAll<HTMLMediaElement>("audio, video"))
    if (each !== except) each.pause();
}

/** Lets one file play at a time. */
export function useOnePlays(): void {
  useEffect(() => {
    const follow = ({ target }: Event) => pauseMedia(target);
    // The event does not bubble.
    document.addEventListener("play", follow, true);
    return () => document.removeEventListener("play", follow, true);
  }, []);
}
