import numpy as np
import pytest

from distill.errors import DataError, InputError
from distill.system.arrays import read_arrays, read_vectors, write_arrays, write_vectors


def test_vectors_come_back_as_float32_from_the_name_given_and_are_read_as_they_are(tmp_path):
    # NumPy adds .npy to a path that lacks it.
    write_vectors(tmp_path / "vectors", np.array([[0.6, 0.8], [1.0, 0.0], [0.0, -1.0]]))
    assert [path.name for path in tmp_path.iterdir()] == ["vectors"]
    got = np.load(tmp_path / "vectors", allow_pickle=False)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, np.array([[0.6, 0.8], [1, 0], [0, -1]], dtype=np.float32))
    np.save(tmp_path / "vectors.npy", np.eye(2, dtype=np.float16))
    assert np.array_equal(read_vectors(tmp_path / "vectors.npy"), np.eye(2))


def test_vectors_that_cannot_be_written_leave_the_old_file(tmp_path):
    write_vectors(tmp_path / "vectors.npy", np.ones((1, 2)))
    with pytest.raises(ValueError):
        write_vectors(tmp_path / "vectors.npy", np.array([["no number"]]))
    with pytest.raises(InputError, match=r"other\.npy"):
        write_vectors(tmp_path / "vectors.npy" / "other.npy", np.zeros((1, 2)))
    assert [path.name for path in tmp_path.iterdir()] == ["vectors.npy"]
    assert np.load(tmp_path / "vectors.npy").tolist() == [[1.0, 1.0]]


def test_arrays_come_back_by_name_all_or_those_that_are_named(tmp_path):
    write_arrays(tmp_path / "a.npz", {"x": np.arange(3), "y": np.array("text"), "z/0": np.eye(2)})
    arrays = read_arrays(tmp_path / "a.npz")
    assert list(arrays) == ["x", "y", "z/0"] and str(arrays["y"]) == "text"
    np.testing.assert_array_equal(arrays["z/0"], [[1, 0], [0, 1]])
    one = read_arrays(tmp_path / "a.npz", ["x"])
    assert list(one) == ["x"] and one["x"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("read", [read_vectors, lambda path: read_arrays(path, ["x"])], ids=["npy", "npz"])
@pytest.mark.parametrize("content", ["absent", "empty", "text", "zip", "pickled", "pickled archive", "other"])
def test_what_is_no_file_of_such_arrays_is_refused(tmp_path, read, content):
    path = tmp_path / "file"
    if content in ("empty", "text", "zip"):
        path.write_bytes({"empty": b"", "text": b"text", "zip": b"PK\3\4 no archive"}[content])
    elif content != "absent":
        objects = np.array([{"a": 1}], dtype=object)
        with open(path, "wb") as file:
            if content == "pickled":
                np.save(file, objects, allow_pickle=True)
            else:
                np.savez(file, **({"x": objects} if content == "pickled archive" else {"y": np.eye(2)}))
    with pytest.raises(DataError, match=str(path)):
        read(path)
    # Nothing is left open, which would be a warning and so an error.
