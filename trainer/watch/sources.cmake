# How a run is watched.
set(watch_sources "")
set(watch_libraries "")
