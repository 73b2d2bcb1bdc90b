// Records a voice message from the microphone.

/** In order of preference. */
const FORMATS = [
  // First, because WebM of Firefox has neither a duration nor an index, so players cannot seek in it.
  ["audio/ogg;codecs=opus", "ogg"],
  ["audio/webm;codecs=opus", "webm"],
  ["audio/mp4", "m4a"],
] as const;
/** Enough for speech. */
const BITS_PER_SECOND = 32_000;
/** Speech has a small amplitude, which would hardly be visible as a level. */
const AMPLIFICATION = 4;

type Format = (typeof FORMATS)[number];

/** Returns undefined if this browser cannot record. */
export function findFormat(): Format | undefined {
  // Browsers have no microphone for pages that came without TLS, except from the same machine.
  if (!navigator.mediaDevices || typeof MediaRecorder === "undefined") return undefined;
  return FORMATS.find(([type]) => MediaRecorder.isTypeSupported(type));
}

export class Recording {
  readonly #stream: MediaStream;
  readonly #recorder: MediaRecorder;
  readonly #context = new AudioContext();
  readonly #analyser = this.#context.createAnalyser();
  readonly #samples = new Float32Array(this.#analyser.fftSize);
  readonly #file: Promise<File>;
  readonly #begun = performance.now();

  /** Starts. Calls `onEnd` when the recording ends, also if the microphone is disconnected. */
  constructor(stream: MediaStream, [type, extension]: Format, onEnd: () => void) {
    const name = toName(extension);
    this.#stream = stream;
    this.#context.createMediaStreamSource(stream).connect(this.#analyser);
    this.#recorder = new MediaRecorder(stream, { mimeType: type, audioBitsPerSecond: BITS_PER_SECOND });
    const parts: Blob[] = [];
    this.#recorder.ondataavailable = ({ data }) => parts.push(data);
    this.#file = new Promise((resolve) => {
      this.#recorder.onstop = () => {
        this.release();
        resolve(new File(parts, name, { type: type.split(";")[0]! }));
        onEnd();
      };
    });
    this.#recorder.start();
  }

  get seconds(): number {
    return (performance.now() - this.#begun) / 1000;
  }

  /** The loudness of this moment, from 0 to 1. */
  get level(): number {
    this.#analyser.getFloatTimeDomainData(this.#samples);
    const power = this.#samples.reduce((sum, each) => sum + each * each, 0) / this.#samples.length;
    return Math.min(1, Math.sqrt(power) * AMPLIFICATION);
  }

  /** Ends the recording. */
  stop(): Promise<File> {
    if (this.#recorder.state !== "inactive") this.#recorder.stop();
    this.release();
    return this.#file;
  }

  /** Releases the microphone, which also ends the recording. */
  release(): void {
    for (const track of this.#stream.getTracks()) track.stop();
    if (this.#context.state !== "closed") void this.#context.close();
  }
}

function toName(extension: string): string {
  // Swedish writes times as ISO 8601 does. Windows allows no colon in names.
  const time = new Date().toLocaleString("sv").slice(0, 16).replace(":", ".");
  return `Voice message ${time}.${extension}`;
}

export function explainMicrophone(error: unknown): string {
  const name = error instanceof DOMException ? error.name : "";
  if (name === "NotAllowedError")
    return "Parley may not use the microphone. Allow it for this page in your browser, then try again.";
  if (name === "NotFoundError") return "No microphone was found. Connect one, then try again.";
  return "The microphone does not work. Another program may be using it.";
}
