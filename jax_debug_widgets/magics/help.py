"""Define the text of `%jaxdebug help`."""

from __future__ import annotations

HELP = """%%jaxdebug [options]          capture the cell below: a live panel of its prints,
                              callbacks and calls
%jaxdebug [options] EXPR      the same for one expression or statement
%jaxdebug on [options]        capture every cell from now on; %jaxdebug off ends it
%jaxdebug status              how the current or last capture is doing
%jaxdebug barrier             wait until all prints and callbacks of this thread's calls
                              have arrived
%jaxdebug callbacks F(X)      what F(X) would call back, and what the compiler leaves of
                              it; nothing runs
%jaxdebug cost F(X)           what each of these adds to the program: memory, kernels,
                              collectives, time; nothing runs, but with --run before
                              F(X), which measures it
%jaxdebug verify F(X)         run F(X) watched (--watch-all unless said otherwise) and
                              unwatched: are the results bitwise equal, or by how much
                              not; and how much longer it takes
%jaxdebug check F(X)          run F(X) once under all checks, and print what they find,
                              or that they found nothing; check oob,nonfinite F(X), or
                              --only oob,nonfinite: under these alone
%jaxdebug step F(X)           run F(X) equation by equation in the panel's debugger:
                              over, into, out, to a line
%jaxdebug table F(X)          the equations of F(X): names, types, times, flops, bytes;
                              nothing runs; --by line, --by primitive, --by scope
%jaxdebug graph F(X)          F(X) as nested boxes: functions, lines, loops, equations,
                              the backward pass beside the forward; nothing runs
%jaxdebug diff F G -- X       how the programs of F(X) and G(X) differ, equation by
                              equation; nothing runs; diff F -- X --before grad,
                              --before vmap: F against what these make of it
%jaxdebug compare F G -- X    run F(X) and G(X) equation by equation: outputs, and where
                              they part first; --rtol R
%jaxdebug compare F -- X      --against float64: the line of F that loses digits;
                              --against op-by-op: the line that XLA computes otherwise,
                              and by which pass; --against cpu; --against saved:FILE,
                              which --save FILE has written
%jaxdebug traces F(X)         trace F(X) twice: the same program? If not, where it
                              differs, and the line that may cause it
%jaxdebug jaxpr F(X)          its source and equations beside each other; nothing runs
%jaxdebug hlo F(X)            beside these StableHLO and what XLA makes of them: fusions,
                              bytes, what is folded away; compiles F(X), and nothing
                              runs; --by-line: links by line, from the executable that
                              JAX has where F is jitted and has run
%jaxdebug export F(X) DIR     write F(X) as a Python package to read, edit and run;
                              nothing runs; --name N, --overwrite
%jaxdebug sites               the call sites of the programs that ran, with their
                              numbers
%jaxdebug findings            what was found in the last capture: the source, why, and
                              what to write instead
%jaxdebug mute SITE ...       stop recording a site (number, label, place, label@place),
                              without recompiling; %jaxdebug unmute SITE records again;
                              mute check:oob shows no findings of that check
%jaxdebug every N SITE ...    record every N-th firing of a site, without recompiling
%jaxdebug plot NAME ...       draw the history of values of the last capture; --kind
                              ridge, --kind heat of an array
%jaxdebug show NAME           draw an array of it, of its last step and first lane;
                              --step N, --lane I of others
%jaxdebug panel               show the panel of the last capture again
%jaxdebug replay [RUN] CALL   make a call once more with the inputs it had, see
                              --keep-inputs; RUN is a variable or a file; it watches all
                              that has a name, or --watch NAMES; --step in the debugger,
                              --with F calls F
%jaxdebug save FILE           write the last capture to a folder (run.jdw), or to one
                              file to send (run.jdw.zip)
%jaxdebug load FILE           read it again, here or elsewhere, and show its panel;
                              --record FILE writes one as well

"""
