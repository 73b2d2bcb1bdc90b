// A picture as a thumbnail: the smallest preview that is sharp, and until that is there, its colours.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { thumbHashToRGBA } from "thumbhash";
import type { Attachment } from "../../../client/src/index.ts";
import { localAddress } from "../session/session.ts";

/** The largest original, in bytes, that is loaded for a thumbnail. */
const MAX_THUMBNAIL = 20_000_000;

/** What a thumbnail covers, in pixels of the page. */
export interface Box {
  width: number;
  height: number;
}

const isSmall = ({ file_size }: Attachment) => file_size <= MAX_THUMBNAIL;

/** Whether there is anything to make a thumbnail of. */
export function isPreviewable(file: Attachment): boolean {
  return isSmall(file) || (file.image?.previews ?? []).length > 0;
}

/** Tries the previews, and then the original. `onFail` is called if none can be shown. */
export function Picture({ file, box, onFail }: { file: Attachment; box: Box; onFail: () => void }) {
  const { image } = file;
  const [isLoaded, setLoaded] = useState(false);
  const [isOriginal, setOriginal] = useState(false);
  const source = isOriginal ? undefined : toSource(file, box);
  const fail = () => (source && isSmall(file) ? setOriginal(true) : onFail());
  // An event does not say which previews there are. They are read soon.
  if (image === undefined) return null;
  return (
    <>
      {image?.placeholder && !isLoaded && <Placeholder hash={image.placeholder} />}
      <img
        {...(source ?? { src: localAddress(file.file_url) })}
        {...(image && { width: image.width, height: image.height })}
        alt=""
        loading="lazy"
        decoding="async"
        draggable={false}
        onLoad={() => setLoaded(true)}
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
  // The picture covers the box, so that of a wide one the sides are cut.
  const width = Math.max(box.width, (box.height * image.width) / image.height);
  return { srcset: srcset.join(", "), sizes: `${Math.ceil(width)}px` };
}

/** Paints a ThumbHash: the page's policy allows no data: addresses. */
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
