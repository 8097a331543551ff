"""Written blind: deciphers sources by word frequencies and letter tables, then bigrams of all."""

from blind_text import bigrams, decipher, read_all, save_bigrams, split_plain, translate


def main() -> None:
    dev, sources = read_all()
    plain, words = split_plain(dev, sources)
    readable = {}
    for name, lines in sources.items():
        if name in plain:
            readable[name] = lines
        elif key := decipher(lines, words):
            readable[name] = translate(lines, key)
    save_bigrams(bigrams(dev, readable, words), dev, words)


if __name__ == "__main__":
    main()
