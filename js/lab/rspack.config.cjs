// Further configuration for `@jupyter/builder`: the sources are TypeScript with Preact. The builder also needs
// `"dependencies": {}` in package.json, which npm removes whenever it writes that file.
module.exports = {
  module: {
    rules: [
      {
        test: /\.tsx?$/,
        loader: "builtin:swc-loader",
        options: {
          jsc: {
            parser: { syntax: "typescript", tsx: true },
            transform: { react: { runtime: "automatic", importSource: "preact" } },
            target: "es2022",
          },
        },
        type: "javascript/auto",
      },
    ],
  },
  resolve: { extensions: [".ts", ".tsx", "..."] },
};
