// Starts the additional servers of `npm run test:all`, once for a run.
import { installPackages } from "./packages.ts";
import { startS3 } from "./s3.ts";
import * as setup from "./setup.ts";

let stopS3: (() => void) | undefined;

export async function globalSetup(): Promise<void> {
  installPackages();
  stopS3 = await startS3();
  await setup.globalSetup();
}

export async function globalTeardown(): Promise<void> {
  stopS3?.();
  await setup.globalTeardown();
}
