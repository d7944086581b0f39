// What `@jupyter/builder` needs to know beside its own configuration: our sources are TypeScript with Preact.
// It also wants to find `"dependencies": {}` in package.json, which npm takes out whenever it writes that file.
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
