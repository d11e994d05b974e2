import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

// Where `npm run dev` finds a running explorer.
const backend = process.env.KLAMM_HTTP ?? 'http://localhost:8080';

export default defineConfig({
  plugins: [react()],

  build: {
    target: 'es2022',
    sourcemap: false,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
    assetsInlineLimit: 0, // the content security policy allows no data: fonts
  },
  server: { proxy: { '/api': backend } },
  test: {
    css: { modules: { classNameStrategy: 'non-scoped' } },
  },
});
