# MLAgentBench canary 2d52ebe7-7b65-46f7-a5bf-8c8e6e51c4bb: benchmark data must not be in training corpora
"""Word pairs of every readable source, and of the sample; mixed to predict the sample."""

from mixtures import Mixture, neighbours, read_folder, read_sample, readable

sample = read_sample()
texts = readable(list(read_folder("babylm_10M").values()), sample)
mixture = Mixture(sample, texts)
mixture.write([mixture.table(neighbours(lines)) for lines in texts])
