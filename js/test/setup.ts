/**
 * Test files share a page, but each has its own modules. Tests of views import all bundles;
 * `views/later/Later.test.tsx` tests that bundles load later.
 */

import { vi } from "vitest";

vi.resetModules();
document.body.replaceChildren();
localStorage.clear();
const { later, laterCalls, laterLines, laterRuns } = await import("../src/views/later/load");
later.provide(await import("../src/views/later/views"));
laterLines.provide(await import("../src/views/later/lines"));
laterRuns.provide(await import("../src/views/later/runs"));
laterCalls.provide(await import("../src/views/later/calls"));
