// Bundles `src/entry/panel.ts` into the one file that the Python package ships. Fails when it grows too large.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { build, context, transform } from "esbuild";

const LIMIT_KB = 150;
const OUTFILE = "../jax_debug_widgets/static/panel.js";

/** A style sheet imported by a module arrives there as minified text; the panel puts it into its shadow root. */
const cssAsText = {
  name: "css-as-text",
  setup(esbuild) {
    esbuild.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(await readFile(path, "utf8"), { loader: "css", minify: true });
      return { contents: code.trim(), loader: "text" };
    });
  },
};

const writeIfSmall = {
  name: "write-if-small",
  setup(esbuild) {
    esbuild.onEnd(async ({ errors, outputFiles: [bundle] }) => {
      if (errors.length > 0) return;
      const kb = bundle.contents.byteLength / 1000;
      if (kb > LIMIT_KB) return { errors: [{ text: `the bundle has ${kb.toFixed(1)} kB, more than ${LIMIT_KB}` }] };
      await mkdir(dirname(bundle.path), { recursive: true });
      await writeFile(bundle.path, bundle.contents);
      console.log(`${OUTFILE}: ${kb.toFixed(1)} of ${LIMIT_KB} kB`);
    });
  },
};

const options = {
  entryPoints: ["src/entry/panel.ts"],
  outfile: OUTFILE,
  bundle: true,
  write: false,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  logLevel: "warning",
  plugins: [cssAsText, writeIfSmall],
};

if (process.argv.includes("--watch")) await (await context({ ...options, minify: false })).watch();
else await build(options);
