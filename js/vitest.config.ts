import { defineConfig } from "vitest/config";

export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  test: {
    environment: "happy-dom",
    isolate: false,
    include: ["{src,lab/src}/**/*.test.{ts,tsx}"],
    restoreMocks: true,
    setupFiles: "test/setup.ts",
  },
});
