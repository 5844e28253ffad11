"""Model selection: the number of clusters (`choose_k`) and the method (`compare`)."""
