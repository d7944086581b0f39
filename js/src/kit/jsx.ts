/** What the build puts in place of JSX, see `build.mjs`. */
export { Fragment, h } from "preact";
