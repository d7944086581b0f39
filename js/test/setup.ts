/**
 * Test files share a page, and have modules of their own. Tests of what is shown import all views; that they come later is
 * tested in `views/later/Later.test.tsx`.
 */

import { vi } from "vitest";

vi.resetModules();
document.body.replaceChildren();
localStorage.clear();
const { later, laterLines, laterRuns } = await import("../src/views/later/load");
later.provide(await import("../src/views/later/views"));
laterLines.provide(await import("../src/views/later/lines"));
laterRuns.provide(await import("../src/views/later/runs"));
