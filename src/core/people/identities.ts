import type { Identity } from "../../db/queries/people/identities.ts";
import { ParleyError } from "../../errors.ts";
import { codePoints } from "../../util/text.ts";
import type { DataAccess } from "../node/core.ts";
import { describedField, type Field, nullable, optional, textField } from "../resource/fields.ts";
import { listOf, object, text } from "../resource/schema.ts";

/** The maximum of OpenID Connect. */
export const MAX_SUBJECT_LENGTH = 255;

/** The claim `sub` of a token. */
export const subjectField: Field<string, true> = textField(
  `a string of 1 to ${MAX_SUBJECT_LENGTH} characters without control characters`,
  { minLength: 1, maxLength: MAX_SUBJECT_LENGTH },
  (value) => (value !== "" && codePoints(value) <= MAX_SUBJECT_LENGTH ? value : undefined),
);

const issuerField = textField(
  `a string of 0 to ${MAX_SUBJECT_LENGTH} characters without control characters`,
  { maxLength: MAX_SUBJECT_LENGTH },
  (value) => (codePoints(value) <= MAX_SUBJECT_LENGTH ? value : undefined),
);

const issuer = optional(
  describedField(issuerField, "The issuer of `subject`; that of the accepted JWTs by default."),
);

/** The identity of a new user. */
export const newIdentityFields = {
  issuer,
  subject: optional(describedField(subjectField, "The claim `sub` of the user's JWTs.")),
};

/** A change of the identities of a user. */
export const identityChanges = {
  issuer,
  subject: optional(
    describedField(nullable(subjectField), "Adds this claim `sub` of JWTs; null removes all identities."),
  ),
};

export const identities = listOf(object({ issuer: text, subject: text }));

interface IdentityFields {
  issuer?: string | undefined;
  subject?: string | null | undefined;
}

/** Returns the identity of these fields; null to remove all, undefined for no change. Throws `invalid_parameter`. */
export function toIdentity(
  core: DataAccess,
  { issuer, subject }: IdentityFields,
): Identity | null | undefined {
  if (typeof subject === "string") return { issuer: issuer ?? core.issuer, subject };
  if (issuer === undefined) return subject;
  throw new ParleyError("invalid_parameter", "issuer needs a subject: the claim sub of the user's tokens.", {
    param: "issuer",
  });
}
