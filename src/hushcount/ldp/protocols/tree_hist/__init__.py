"""TreeHist: heavy items are found prefix by prefix."""
