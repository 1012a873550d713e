import pytest

from hnclip.data.sentences import split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("A cat sits. It sleeps! Does it? Yes", ["A cat sits.", "It sleeps!", "Does it?", "Yes"]),
        ("It is 3.5 m tall. mr. x is not", ["It is 3.5 m tall. mr. x is not"]),
        ("Mr. Smith and J. R. Tolkien, e.g. Here.", ["Mr. Smith and J. R. Tolkien, e.g. Here."]),
        ('He says "Go." Then he leaves.', ['He says "Go."', "Then he leaves."]),
        ("One.\r\nTwo.\n\nThree.", ["One.", "Two.", "Three."]),
        ("Ein Bär. Älter als du. Écoute!", ["Ein Bär.", "Älter als du.", "Écoute!"]),
        ('It reads "M. Lane" and "5. Run". It ends.', ['It reads "M. Lane" and "5. Run".', "It ends."]),
        ('A sign with "L." It is red.', ['A sign with "L."', "It is red."]),
        ("  no end ", ["no end"]),
        (" \n", []),
    ],
)
def test_sentences_end_before_a_space_and_a_capital(text, sentences):
    assert split_sentences(text) == sentences
