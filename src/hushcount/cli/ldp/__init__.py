"""`hushcount ldp`: campaigns in which every user randomises their own report."""
