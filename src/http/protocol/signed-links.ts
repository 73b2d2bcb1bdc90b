import { anyText, describedField, optional, type Shape } from "../../core/resource/fields.ts";
import { integer } from "../../core/resource/schema.ts";
import { ParleyError } from "../../errors.ts";
import type { Call } from "./operation.ts";

/** The fields in the query of a link that sign it. */
export const linkFields = {
  expires: optional(
    describedField({ ...anyText, schema: integer }, "When the link expires, in Unix seconds."),
  ),
  signature: optional(describedField(anyText, "The signature of the link.")),
};

/** Returns the error for an invalid link. Throws `rate_limited` if the address has sent too many forged ones. */
export function refusedLink(
  { core, rates, request, reply }: Call<Shape, Shape>,
  subject: string,
  expires: string,
  signature: string,
  detail?: string,
): ParleyError {
  // Only a forged signature is a guess, not a missing one or an expired link.
  if (signature !== "" && !core.links.isGenuine(subject, expires, signature)) {
    rates.refuseGuess(request, reply);
    rates.countFailure(request);
  }
  return new ParleyError("invalid_signature", detail);
}
