// Bundles `src/entry/panel.ts` and the views that load later (`src/views/later/views.ts`, `program.ts`, `lines.ts`,
// `runs.ts`, `calls.ts`) into the files that the Python package ships. Fails if a bundle grows too large, or if a later bundle
// contains a module of the first.
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { build, context, transform } from "esbuild";
import { clashes, packed, unpacker } from "./sheets.mjs";

const PANEL = { outfile: "../jax_debug_widgets/static/panel.js", limitKb: 200 };
const VIEWS = { outfile: "../jax_debug_widgets/static/views.js", limitKb: 120 };
const PROGRAM = { outfile: "../jax_debug_widgets/static/program.js", limitKb: 120 };
const LINES = { outfile: "../jax_debug_widgets/static/lines.js", limitKb: 120 };
const RUNS = { outfile: "../jax_debug_widgets/static/runs.js", limitKb: 120 };
const CALLS = { outfile: "../jax_debug_widgets/static/calls.js", limitKb: 120 };
const SHARED = "src/views/later/shared.ts";
/** The style sheets of the later bundles; all others are in the first. */
const LATER = /^(source|names|inspector|debugger|findings|arrays|spread)\.css$/;
const OF_PROGRAMS = /^program\.css$/;
const OF_LINES = /^(ansi|hits|terms)\.css$/;
const OF_RUNS = /^runs\.raw\.css$/;
const OF_CALLS = /^(calls|timeline)\.css$/;
const OF_LATER = [LATER, OF_PROGRAMS, OF_LINES, OF_RUNS, OF_CALLS];

/** The minified style sheets of each bundle. */
const looks = {};

/** Makes an imported style sheet a string of minified CSS. The panel puts it into its shadow root. */
const cssAsText = ({ outfile }, isMine) => ({
  name: "css-as-text",
  setup(esbuild) {
    let all;
    esbuild.onStart(async () => {
      const paths = (await readdir("src", { recursive: true })).filter(
        (path) => path.endsWith(".css") && isMine(path.split(/[\\/]/).at(-1)),
      );
      const minified = async (path) => {
        const { code } = await transform(await readFile(path, "utf8"), { loader: "css", minify: true });
        return [path, code.trim()];
      };
      const sheets = await Promise.all(paths.map((path) => minified(join(import.meta.dirname, "src", path))));
      all = packed(Object.fromEntries(sheets));
      looks[outfile] = sheets.map(([, sheet]) => sheet);
      return { errors: clashes(looks).map((text) => ({ text })) };
    });
    esbuild.onLoad({ filter: /\.css$/ }, ({ path }) => {
      if (!(path in all.sheets)) return { errors: [{ text: `${path} belongs to the other bundle, see LATER` }] };
      return {
        contents: `import { unpack } from "unpack"; export default unpack(${JSON.stringify(all.sheets[path])});`,
      };
    });
    esbuild.onResolve({ filter: /^unpack$/ }, () => ({ path: "unpack", namespace: "unpack" }));
    esbuild.onLoad({ filter: /./, namespace: "unpack" }, () => ({ contents: unpacker(all.dictionary) }));
  },
});

/** Replaces imports of modules in `inFirst` by the table that the first bundle passes to a later one. */
const sharedFrom = (inFirst, names) => ({
  name: "shared",
  setup(esbuild) {
    const resolving = {};
    esbuild.onResolve({ filter: /./ }, async ({ path, pluginData, ...options }) => {
      if (pluginData === resolving || options.kind === "entry-point" || path === "unpack") return;
      const found = await esbuild.resolve(path, { ...options, pluginData: resolving });
      if (!inFirst.has(relative(import.meta.dirname, found.path))) return;
      return { path: "shared", namespace: "shared", sideEffects: false };
    });
    esbuild.onLoad({ filter: /./, namespace: "shared" }, () => ({
      contents: `const need = (name) => {
          if (name in shared) return shared[name];
          throw new Error("This page was opened with another version of jax_debug_widgets: reload the page.");
        };
        ${names.map((name) => `export const ${name} = /* @__PURE__ */ need("${name}");`).join("\n")}`,
    }));
  },
});

const writeIfSmall = ({ outfile, limitKb }) => ({
  name: "write-if-small",
  setup(esbuild) {
    esbuild.onEnd(async ({ errors, outputFiles: [bundle] = [] }) => {
      if (errors.length > 0) return;
      const kb = bundle.contents.byteLength / 1000;
      if (options.minify && kb > limitKb)
        return { errors: [{ text: `${outfile} has ${kb.toFixed(1)} kB, more than ${limitKb}` }] };
      await mkdir(dirname(bundle.path), { recursive: true });
      await writeFile(bundle.path, bundle.contents);
      console.log(`${outfile}: ${kb.toFixed(1)} of ${limitKb} kB`);
    });
  },
});

const options = {
  bundle: true,
  write: false,
  metafile: true,
  minify: !process.argv.includes("--watch"),
  target: "es2022",
  charset: "utf8",
  // The classic `h(tag, props, ...children)` saves 3 kB against the automatic JSX runtime.
  jsx: "transform",
  jsxFactory: "h",
  jsxFragment: "Fragment",
  inject: ["src/kit/jsx.ts"],
  // TypeScript's configuration would override the JSX settings.
  tsconfigRaw: {},
  legalComments: "none",
  logLevel: "warning",
};

const panel = {
  ...options,
  entryPoints: ["src/entry/panel.ts"],
  outfile: PANEL.outfile,
  format: "esm",
  plugins: [cssAsText(PANEL, (sheet) => !OF_LATER.some((own) => own.test(sheet))), writeIfSmall(PANEL)],
};

/** Returns the modules with code in a built bundle. */
function modulesOf({ metafile }) {
  const [{ inputs }] = Object.values(metafile.outputs);
  return new Set(Object.keys(inputs).filter((path) => inputs[path].bytesInOutput > 0 && !path.startsWith("unpack:")));
}

async function laterBundle(first, entry, product, sheets) {
  const list = await build({ ...options, inject: [], plugins: [], entryPoints: [SHARED], format: "esm", outdir: "." });
  const [{ exports: names }] = Object.values(list.metafile.outputs);
  return {
    ...options,
    entryPoints: [entry],
    outfile: product.outfile,
    // The bundle is a function of the table `shared` that returns the exports of the entry.
    format: "iife",
    globalName: "views",
    banner: { js: "export default(shared)=>{" },
    footer: { js: "return views}" },
    plugins: [
      sharedFrom(modulesOf(first), names),
      cssAsText(product, (sheet) => sheets.test(sheet)),
      holdsNoneOf(modulesOf(first)),
      writeIfSmall(product),
    ],
  };
}

const holdsNoneOf = (modules) => ({
  name: "holds-none-of",
  setup(esbuild) {
    esbuild.onEnd((result) => {
      if (result.errors.length > 0) return;
      const twice = [...modulesOf(result)].filter((path) => modules.has(path));
      return { errors: twice.map((path) => ({ text: `${path} is in both bundles` })) };
    });
  },
});

const first = await build(panel);
const later = [
  await laterBundle(first, "src/views/later/views.ts", VIEWS, LATER),
  await laterBundle(first, "src/views/later/program.ts", PROGRAM, OF_PROGRAMS),
  await laterBundle(first, "src/views/later/lines.ts", LINES, OF_LINES),
  await laterBundle(first, "src/views/later/runs.ts", RUNS, OF_RUNS),
  await laterBundle(first, "src/views/later/calls.ts", CALLS, OF_CALLS),
];
if (process.argv.includes("--watch")) for (const each of [panel, ...later]) await (await context(each)).watch();
else for (const each of later) await build(each);
