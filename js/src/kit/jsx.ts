/** The functions that the build inserts for JSX, see `build.mjs`. */
export { Fragment, h } from "preact";
