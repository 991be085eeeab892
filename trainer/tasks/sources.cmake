# What can be learned.
set(task_sources tasks/share.cc)
