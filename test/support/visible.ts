/** The rule of what a person can see, written again so that the server does not judge itself. */
export const isVisible = (text: string): boolean =>
  /[^\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cf}\u2800]/u.test(text);
