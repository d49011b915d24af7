raise ImportError("Gluon is not Triton's tile language: tilec does not compile it")
