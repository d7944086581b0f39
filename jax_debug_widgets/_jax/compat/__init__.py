"""Look up JAX's private names by feature, replace functions of JAX and put them back, and run native code.

In:   names of JAX and of its versions; functions of ours that take the place of JAX's.
Out:  which features this JAX offers, with a sentence for each that is off; replacements that can be undone.
May know: no other room.
"""
