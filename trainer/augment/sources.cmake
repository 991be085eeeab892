# What is drawn anew for every picture of every epoch.
set(augment_sources augment/view.cc)
