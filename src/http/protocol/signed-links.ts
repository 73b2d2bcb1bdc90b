import { anyText, describedField, optional, type Shape } from "../../core/resource/fields.ts";
import { integer } from "../../core/resource/schema.ts";
import { ParleyError } from "../../errors.ts";
import type { Call } from "./operation.ts";

/** What signs a link, in its query. */
export const linkFields = {
  expires: optional(
    describedField({ ...anyText, schema: integer }, "When the link expires, in Unix seconds."),
  ),
  signature: optional(describedField(anyText, "The signature of the link.")),
};

/** Returns the error of a link that is not valid. Throws `rate_limited` if the address has sent too many that never were. */
export function refusedLink(
  { core, rates, request, reply }: Call<Shape, Shape>,
  subject: string,
  expires: string,
  signature: string,
  detail?: string,
): ParleyError {
  // A request without a signature guesses nothing, and an expired link is one of ours.
  if (signature !== "" && !core.links.isGenuine(subject, expires, signature)) {
    rates.refuseGuess(request, reply);
    rates.countFailure(request);
  }
  return new ParleyError("invalid_signature", detail);
}
