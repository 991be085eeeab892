# `vitrine eval`: a whole data set through a server, counted once, reported.
set(eval_sources)
