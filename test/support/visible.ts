/** Reports whether a person can see the text. Reimplemented, so that the server's code is not tested against itself. */
export const isVisible = (text: string): boolean =>
  /[^\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cf}\u2800]/u.test(text);
