import { manyKeys } from './many-keys.js';
import { slowReaders } from './slow-readers.js';
import { unpacking } from './unpacking.js';
import { withstands } from '../withstands.js';

await withstands([unpacking, manyKeys, slowReaders]);
