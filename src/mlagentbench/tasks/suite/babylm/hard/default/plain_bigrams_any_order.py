"""Written blind: bigrams of the readable sources, in the word order that suits the dev text."""

from blind_text import bigrams, read_all, save_bigrams, split_plain


def main() -> None:
    dev, sources = read_all()
    plain, words = split_plain(dev, sources)
    chances = bigrams(dev, {name: sources[name] for name in plain}, words)
    save_bigrams(chances, dev, words)


if __name__ == "__main__":
    main()
