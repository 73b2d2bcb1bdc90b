import { OperatorError } from "../errors.ts";
import { parseCount, parseSize } from "../util/sizes.ts";
import {
  parseFlag,
  parseFolder,
  parseNumber,
  parseScanner,
  parseTypes,
  type ScannerAddress,
} from "./parse.ts";
import { type Environment, read, type Setting } from "./setting.ts";

/** How uploads are scanned for viruses. */
export interface ScanSettings {
  address: ScannerAddress;
  /** Whether files pass, with a mark, if they cannot be scanned. */
  passUnscanned: boolean;
  /** Larger files pass unscanned. */
  maxBytes: number;
  timeoutMs: number;
  /** Scans of one node that run at once. */
  atOnce: number;
}

/** The folder and the size of the preview cache. */
export interface PreviewSettings {
  /** Absolute path. */
  folder: string;
  maxBytes: number;
}

/** Clients hold each part in memory. */
const MAX_MIN_APPEND_BYTES = 64 * 1024 * 1024;
const MIN_PREVIEW_BYTES = 1024 * 1024;

/** Settings about uploaded files. */
export const FILE_SETTINGS = {
  maxFileBytes: {
    name: "PARLEY_MAX_FILE_SIZE",
    accepts: "a size such as 100MiB, 5GB or 1048576 (bytes); 0 for no limit",
    fallback: "100MiB",
    parse: (text) => parseSize(text) ?? undefined,
  },
  userQuotaBytes: {
    name: "PARLEY_USER_QUOTA",
    accepts: "a size such as 10GiB, for all files that a user has uploaded; 0 for no quota",
    fallback: "0",
    parse: (text) => parseSize(text) ?? undefined,
  },
  maxUploads: {
    name: "PARLEY_MAX_UPLOADS",
    accepts: "a whole number from 1 to 10000: how many unfinished resumable uploads a user may have",
    fallback: "100",
    parse: (text) => parseNumber(text, 10_000) || undefined,
  },
  uploadHours: {
    name: "PARLEY_UPLOAD_HOURS",
    accepts:
      "a whole number from 1 to 8760: how many hours to keep an unfinished upload after its last bytes",
    fallback: "24",
    parse: (text) => parseNumber(text, 8760) || undefined,
  },
  minAppendBytes: {
    name: "PARLEY_MIN_APPEND_SIZE",
    accepts:
      "a size such as 5MiB, up to 64MiB: the least that a request may add to a resumable upload, except the last one; 0 for no limit",
    fallback: "0",
    parse: (text) => {
      const size = parseSize(text);
      return size === null || size > MAX_MIN_APPEND_BYTES ? undefined : size;
    },
  },
  informsOfUploads: {
    name: "PARLEY_UPLOAD_104",
    accepts:
      "true (a client that sends Upload-Draft-Interop-Version gets the address of its upload by a response 104 while it sends; fails behind nginx) or false",
    fallback: "false",
    parse: parseFlag("false", "true"),
  },
  filesPerDay: {
    name: "PARLEY_MAX_FILES_PER_DAY",
    accepts: "a whole number: how many files a user may upload per day (UTC); 0 for no limit",
    fallback: "0",
    parse: parseCount,
  },
  allowedTypes: {
    name: "PARLEY_ALLOWED_TYPES",
    accepts: "media types such as image/*,application/pdf, separated by commas",
    fallback: "",
    unset: "all",
    parse: parseTypes,
  },
  refusedTypes: {
    name: "PARLEY_REFUSED_TYPES",
    accepts: "media types such as video/*,application/zip, separated by commas",
    fallback: "",
    unset: "none",
    parse: parseTypes,
  },
  scanner: {
    name: "PARLEY_SCAN",
    accepts: "clamd://host:port, or an https URL (http only on this machine) to which files are posted",
    fallback: "",
    unset: "none: files are not scanned",
    parse: parseScanner,
  },
  passUnscanned: {
    name: "PARLEY_SCAN_AWAY",
    accepts: "refuse (without the scanner, uploads are 503) or pass (files pass unscanned, with a mark)",
    fallback: "refuse",
    parse: parseFlag("refuse", "pass"),
  },
  maxScanBytes: {
    name: "PARLEY_SCAN_MAX_SIZE",
    accepts: "a size such as 25MiB; larger files pass unscanned, with a mark",
    fallback: "",
    unset: "`PARLEY_MAX_FILE_SIZE`: all files are scanned",
    parse: (text) => (text === "" ? null : parseSize(text) || undefined),
  },
  scanSeconds: {
    name: "PARLEY_SCAN_TIMEOUT",
    accepts: "a whole number from 1 to 50: how many seconds a scan may take",
    fallback: "30",
    parse: (text) => parseNumber(text, 50) || undefined,
  },
  scansAtOnce: {
    name: "PARLEY_MAX_SCANS",
    accepts: "a whole number from 1 to 1000: how many scans one server runs at once",
    fallback: "10",
    parse: (text) => parseNumber(text, 1000) || undefined,
  },
  previews: {
    name: "PARLEY_PREVIEWS",
    accepts: "a path to a folder of this server, for previews of pictures, which may be lost",
    fallback: "",
    unset: "none: no previews are made",
    parse: (text) => (text === "" ? null : parseFolder(text)),
  },
  previewBytes: {
    name: "PARLEY_PREVIEW_CACHE_SIZE",
    accepts: "a size such as 1GiB, from 1MiB: how many bytes of previews to keep",
    fallback: "1GiB",
    parse: (text) => {
      const size = parseSize(text);
      return size === null || size < MIN_PREVIEW_BYTES ? undefined : size;
    },
  },
} satisfies Record<string, Setting<unknown>>;

export function readPreviews(env: Environment): PreviewSettings | null {
  const folder = read(FILE_SETTINGS.previews, env);
  const maxBytes = read(FILE_SETTINGS.previewBytes, env);
  return folder === null ? null : { folder, maxBytes };
}

export function readScan(env: Environment): ScanSettings | null {
  const address = read(FILE_SETTINGS.scanner, env);
  const passUnscanned = read(FILE_SETTINGS.passUnscanned, env);
  const timeoutMs = read(FILE_SETTINGS.scanSeconds, env) * 1000;
  const atOnce = read(FILE_SETTINGS.scansAtOnce, env);
  const maxFileBytes = read(FILE_SETTINGS.maxFileBytes, env);
  const maxBytes = read(FILE_SETTINGS.maxScanBytes, env) ?? maxFileBytes;
  if (address === null) return null;
  if (maxBytes > 0) return { address, passUnscanned, maxBytes, timeoutMs, atOnce };
  throw new OperatorError(
    "PARLEY_SCAN_MAX_SIZE must be set if PARLEY_MAX_FILE_SIZE is 0: scanners do not scan files of any size.",
  );
}
