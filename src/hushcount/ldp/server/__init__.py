"""The collector's side: reports are checked, added up, and turned into estimates of counts."""
