// A picture that zooms by wheel, two fingers, keys, double click or buttons, and pans by dragging.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { IconButton } from "../ui/icons.tsx";

const MAX_CHECKED_PIXELS = 50_000_000;
const MAX_SCALE = 10;
/** The step of a key or a button. */
const FACTOR = 1.5;
const DOUBLE_CLICK_SCALE = 3;
/** How far a key pans, in pixels. */
const MOVE = 80;
/** The height of a line, for wheels that count lines. */
const LINE = 16;

/** Handles a key for the file on show. Returns whether it used the key. */
export type OnKey = { current: ((key: string) => boolean) | undefined };

interface Point {
  x: number;
  y: number;
}

interface Place extends Point {
  /** 1 fits the picture into the stage. */
  scale: number;
}

const WHOLE: Place = { scale: 1, x: 0, y: 0 };

/** Shows an image and detects a truncated one. An element loads it without an error, but decoding it again fails. */
export function ImageStage(props: {
  address: string;
  /** Shown until the user zooms, if there is one. */
  preview: string | undefined;
  name: string;
  onError: () => void;
  onKey: OnKey;
}) {
  const [isCut, setCut] = useState(false);
  const stage = useRef<HTMLDivElement>(null);
  const { place, zoom, move, reset } = useZoomPlace(stage);
  useZoomKeys(props.onKey, place, zoom, move, reset);
  const { address } = props;
  const [shown, show] = useState(props.preview ?? address);
  useOriginal(address, shown !== address && place.scale > 1, show);
  const check = (image: HTMLImageElement) => {
    if (image.naturalWidth * image.naturalHeight > MAX_CHECKED_PIXELS) return;
    const bitmap = createImageBitmap(image, { resizeWidth: 1, resizeHeight: 1 });
    bitmap.then(
      (done) => done.close(),
      () => setCut(true),
    );
  };
  const { scale, x, y } = place;
  const doubleClick = {
    onDblClick: (event: MouseEvent) =>
      scale > 1 ? reset() : zoom(DOUBLE_CLICK_SCALE, toPoint(event, stage.current!)),
  };
  return (
    <>
      <div
        ref={stage}
        class={scale > 1 ? "stage-image zoomed" : "stage-image"}
        {...useFingers(stage, scale, zoom, move)}
        {...doubleClick}
      >
        <img
          src={shown}
          alt={props.name}
          draggable={false}
          style={{ transform: `translate(${x}px, ${y}px) scale(${scale})` }}
          onLoad={(event) => shown === address && check(event.currentTarget)}
          onError={() => (shown === address ? props.onError() : show(address))}
        />
      </div>
      <div class="stage-controls">
        <IconButton icon="minus" label="Zoom out (-)" onClick={() => zoom(1 / FACTOR)} />
        <button type="button" class="stage-scale small" title="Reset zoom (0)" onClick={reset}>
          {Math.round(scale * 100)}%<span class="visually-hidden">: reset zoom</span>
        </button>
        <IconButton icon="add" label="Zoom in (+)" onClick={() => zoom(FACTOR)} />
      </div>
      {isCut && (
        <p class="stage-note" role="status">
          The picture is incomplete.
        </p>
      )}
    </>
  );
}

/** Loads the original on demand and shows it when it is ready. If that fails, the preview stays. */
function useOriginal(address: string, isWanted: boolean, show: (address: string) => void): void {
  useEffect(() => {
    if (!isWanted) return;
    let isLeft = false;
    const image = new Image();
    image.src = address;
    image.decode().then(
      () => isLeft || show(address),
      () => {},
    );
    return () => {
      isLeft = true;
    };
  }, [address, isWanted, show]);
}

type Zoom = (factor: number, around?: Point) => void;
type Move = (by: Point) => void;

/** The position and scale of the picture. Points are relative to the middle of the stage. */
function useZoomPlace(stage: { current: HTMLElement | null }) {
  const [place, setPlace] = useState(WHOLE);
  const change = (to: (old: Place) => Place) => setPlace((old) => keepInside(to(old), stage.current!));
  const zoom: Zoom = (factor, around = { x: 0, y: 0 }) =>
    change((old) => {
      const scale = Math.max(1, Math.min(MAX_SCALE, old.scale * factor));
      const by = scale / old.scale;
      const shift = (at: number, point: number) => point - (point - at) * by;
      return { scale, x: shift(old.x, around.x), y: shift(old.y, around.y) };
    });
  const move: Move = (by) => change(({ scale, x, y }) => ({ scale, x: x + by.x, y: y + by.y }));
  return { place, zoom, move, reset: () => setPlace(WHOLE) };
}

/** Moves the picture so that there is no gap at its edges, or centres it if it is smaller than the stage. */
function keepInside({ scale, x, y }: Place, stage: HTMLElement): Place {
  const image = stage.querySelector("img")!;
  const keep = (at: number, size: number, room: number) => {
    const most = Math.max(0, (size * scale - room) / 2);
    return Math.max(-most, Math.min(most, at));
  };
  return {
    scale,
    x: keep(x, image.offsetWidth, stage.clientWidth),
    y: keep(y, image.offsetHeight, stage.clientHeight),
  };
}

/** Converts page coordinates to a point relative to the middle of the stage. */
function toPoint({ clientX, clientY }: { clientX: number; clientY: number }, stage: HTMLElement): Point {
  const { left, top, width, height } = stage.getBoundingClientRect();
  return { x: clientX - left - width / 2, y: clientY - top - height / 2 };
}

/** Arrow keys pan a zoomed picture. */
function useZoomKeys(onKey: OnKey, place: Place, zoom: Zoom, move: Move, reset: () => void): void {
  useLayoutEffect(() => {
    onKey.current = (key) => {
      const arrows: Record<string, Point> = {
        ArrowLeft: { x: MOVE, y: 0 },
        ArrowRight: { x: -MOVE, y: 0 },
        ArrowUp: { x: 0, y: MOVE },
        ArrowDown: { x: 0, y: -MOVE },
      };
      const arrow = arrows[key];
      if (key === "+" || key === "=") zoom(FACTOR);
      else if (key === "-") zoom(1 / FACTOR);
      else if (key === "0") reset();
      else if (arrow && place.scale > 1) move(arrow);
      else return false;
      return true;
    };
    return () => {
      onKey.current = undefined;
    };
  });
}

/** Zooms by wheel and two fingers, and pans by one pointer. Returns the event listeners to attach. */
function useFingers(stage: { current: HTMLElement | null }, scale: number, zoom: Zoom, move: Move) {
  const fingers = useRef(new Map<number, Point>());
  /** Whether the gesture is used here, so that it must not step to another file. */
  const isUsed = useRef(false);
  const lift = (event: PointerEvent) => {
    fingers.current.delete(event.pointerId);
    if (isUsed.current) event.stopPropagation();
  };
  return {
    onWheel: (event: WheelEvent) => {
      event.preventDefault();
      const pixels = event.deltaY * (event.deltaMode === 0 ? 1 : LINE);
      // A pinch on a touchpad is a wheel event with Ctrl, in smaller steps.
      zoom(Math.exp(-pixels * (event.ctrlKey ? 0.01 : 0.002)), toPoint(event, stage.current!));
    },
    onPointerDown: (event: PointerEvent) => {
      // A mouse button released outside left a stale entry.
      if (event.isPrimary) fingers.current.clear();
      if (fingers.current.size === 0) isUsed.current = scale > 1;
      fingers.current.set(event.pointerId, toPoint(event, stage.current!));
      if (fingers.current.size > 1) isUsed.current = true;
      if (isUsed.current) stage.current!.setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent) => {
      const before = fingers.current.get(event.pointerId);
      if (!before || !isUsed.current) return;
      const point = toPoint(event, stage.current!);
      fingers.current.set(event.pointerId, point);
      const other = [...fingers.current].find(([id]) => id !== event.pointerId)?.[1];
      const part = other ? 2 : 1;
      if (other) {
        const middle = { x: (point.x + other.x) / 2, y: (point.y + other.y) / 2 };
        zoom(toDistance(point, other) / Math.max(1, toDistance(before, other)), middle);
      }
      move({ x: (point.x - before.x) / part, y: (point.y - before.y) / part });
    },
    onPointerUp: lift,
    onPointerCancel: lift,
  };
}

function toDistance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}
