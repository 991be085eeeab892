# Several processes, one model.
set(scale_out_sources "")
set(scale_out_libraries "")
