/** Switches between picture and numbers, if the array can be a picture. */
import type { Picture } from "./picture";

export function PictureSwitch({ picture }: { picture: Picture }) {
  if (!picture.mayBe) return null;
  return (
    <button
      type="button"
      class="mini"
      aria-pressed={picture.is}
      title="Show it as a picture, or as numbers"
      onClick={picture.toggle}
    >
      image
    </button>
  );
}
