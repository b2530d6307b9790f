"""``python -m permed_measures``: the shell tool."""

from permed_measures.cli import main

if __name__ == "__main__":
    main()
