"""Learning to rank: samples in groups, a softmax ranker, graph features, leaks."""
