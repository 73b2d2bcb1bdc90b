// A thumbnail: the smallest preview that is sharp. Shows the placeholder until it is loaded.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { thumbHashToRGBA } from "thumbhash";
import type { Attachment } from "../../../packages/parley-client/src/index.ts";
import { localAddress } from "../session/session.ts";

/** The largest original to load as a thumbnail, in bytes. */
const MAX_THUMBNAIL = 20_000_000;

/** The size of a thumbnail, in CSS pixels. */
export interface Box {
  width: number;
  height: number;
}

const isSmall = ({ file_size }: Attachment) => file_size <= MAX_THUMBNAIL;

/** Whether a thumbnail can be made. */
export function isPreviewable(file: Attachment): boolean {
  return isSmall(file) || (file.image?.previews ?? []).length > 0;
}

/** Tries the previews, then the original. Calls `onFail` if neither can be shown. */
export function Picture({ file, box, onFail }: { file: Attachment; box: Box; onFail: () => void }) {
  const { image } = file;
  const [loaded, setLoaded] = useState<Box>();
  const [isOriginal, setOriginal] = useState(false);
  const source = isOriginal ? undefined : toSource(file, box);
  const fail = () => (source && isSmall(file) ? setOriginal(true) : onFail());
  const size = image ?? loaded;
  const isSmaller = size && (size.width < box.width || size.height < box.height);
  // Events do not list the previews. They are loaded soon after.
  if (image === undefined) return null;
  return (
    <>
      {image?.placeholder && !loaded && <Placeholder hash={image.placeholder} />}
      <img
        {...(source ?? { src: localAddress(file.file_url) })}
        {...(image && { width: image.width, height: image.height })}
        alt=""
        loading="lazy"
        decoding="async"
        draggable={false}
        class={isSmaller ? "whole" : undefined}
        onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) =>
          setLoaded({ width: naturalWidth, height: naturalHeight })
        }
        onError={fail}
      />
    </>
  );
}

/** Lets the browser choose among the previews; undefined if there are none. */
function toSource(file: Attachment, box: Box): { srcset: string; sizes: string } | undefined {
  const { image } = file;
  if (!image || image.previews.length === 0) return undefined;
  const original = isSmall(file) ? [{ width: image.width, url: file.file_url }] : [];
  const srcset = [...image.previews, ...original].map(({ width, url }) => `${localAddress(url)} ${width}w`);
  // The picture covers the box: the sides of a wide one are cropped.
  const width = Math.max(box.width, (box.height * image.width) / image.height);
  return { srcset: srcset.join(", "), sizes: `${Math.ceil(width)}px` };
}

/** Paints a ThumbHash on a canvas: the Content-Security-Policy allows no data: URLs. */
function Placeholder({ hash }: { hash: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const { w, h, rgba } = thumbHashToRGBA(Uint8Array.from(atob(hash), (char) => char.charCodeAt(0)));
    const { current } = canvas;
    current!.width = w;
    current!.height = h;
    current!.getContext("2d")!.putImageData(new ImageData(new Uint8ClampedArray(rgba), w, h), 0, 0);
  }, [hash]);
  return <canvas ref={canvas} />;
}
