-- MariaDB lets an ascii column hold high bytes, and utf8 columns the codes of surrogates (which are no UTF-8 to a strict reader).
USE c_bytes_unassigned;
CREATE TABLE ascii_high (n INT NOT NULL PRIMARY KEY, a VARCHAR(5) CHARACTER SET ascii, t TEXT CHARACTER SET ascii);
INSERT INTO ascii_high VALUES (1, 0xE9, 0xC3A9), (2, 0xFF27, 0x805C), (3, 'plain', '');
CREATE TABLE surrogates (n INT NOT NULL PRIMARY KEY, a VARCHAR(5) CHARACTER SET utf8mb4, b VARCHAR(5) CHARACTER SET utf8mb3, c VARCHAR(5) CHARACTER SET ucs2);
INSERT INTO surrogates VALUES (1, _utf8mb4 0xEDA080, _utf8mb3 0xEDA080, _ucs2 0xD800), (2, _utf8mb4 0xEDA0BDEDB880, _utf8mb3 0xEDBFBF, _ucs2 0xDFFF0061);
