/** Tests of what is shown import all views; that they come later is tested in `views/later/Later.test.tsx`. */

import * as lines from "../src/views/later/lines";
import { later, laterLines, laterRuns } from "../src/views/later/load";
import * as runs from "../src/views/later/runs";
import * as views from "../src/views/later/views";

later.provide(views);
laterLines.provide(lines);
laterRuns.provide(runs);
